; The name of every thread, where a core shows it: a variable of the thread with
; the path from the main thread to it. The program's own `pthread_create` passes
; the path on and calls the C library's.
;
; { depth, numbers from the main thread's child on, threads created so far }

%name = type { i32, [14 x i32], i32 }

@__bohr_thread = hidden thread_local(initialexec) global %name zeroinitializer, align 4
@real = internal global ptr null, align 8
@word = private constant [15 x i8] c"pthread_create\00"

define i32 @pthread_create(ptr %thread, ptr %attributes, ptr %routine, ptr %argument) uwtable {
  %known = load atomic ptr, ptr @real monotonic, align 8
  %unknown = icmp eq ptr %known, null
  br i1 %unknown, label %find, label %begin

find:
  %found = call ptr @dlsym(ptr inttoptr (i64 -1 to ptr), ptr @word)
  store atomic ptr %found, ptr @real monotonic, align 8
  br label %begin

begin:
  %create = phi ptr [ %known, %0 ], [ %found, %find ]
  %start = call ptr @malloc(i64 80)
  %full = icmp eq ptr %start, null
  br i1 %full, label %refuse, label %describe

refuse:
  ret i32 11

describe:
  store ptr %routine, ptr %start, align 8
  %second = getelementptr i8, ptr %start, i64 8
  store ptr %argument, ptr %second, align 8
  %child = getelementptr i8, ptr %start, i64 16
  %own = call ptr @llvm.threadlocal.address.p0(ptr @__bohr_thread)
  call void @llvm.memcpy.p0.p0.i64(ptr %child, ptr %own, i64 64, i1 false)
  %none = getelementptr i8, ptr %child, i64 60
  store i32 0, ptr %none, align 4
  %created = getelementptr i8, ptr %own, i64 60
  %before = load i32, ptr %created, align 4
  %number = add i32 %before, 1
  store i32 %number, ptr %created, align 4
  %depth = load i32, ptr %child, align 4
  %deeper = add i32 %depth, 1
  store i32 %deeper, ptr %child, align 4
  %fits = icmp ult i32 %depth, 14
  br i1 %fits, label %note, label %go

note:
  %path = getelementptr i8, ptr %child, i64 4
  %wide = zext i32 %depth to i64
  %last = getelementptr i32, ptr %path, i64 %wide
  store i32 %number, ptr %last, align 4
  br label %go

go:
  %error = call i32 %create(ptr %thread, ptr %attributes, ptr @shell, ptr %start)
  %made = icmp eq i32 %error, 0
  br i1 %made, label %done, label %undo

undo:
  store i32 %before, ptr %created, align 4
  call void @free(ptr %start)
  br label %done

done:
  ret i32 %error
}

define internal ptr @shell(ptr %start) uwtable {
  %routine = load ptr, ptr %start, align 8
  %second = getelementptr i8, ptr %start, i64 8
  %argument = load ptr, ptr %second, align 8
  %name = getelementptr i8, ptr %start, i64 16
  %own = call ptr @llvm.threadlocal.address.p0(ptr @__bohr_thread)
  call void @llvm.memcpy.p0.p0.i64(ptr %own, ptr %name, i64 64, i1 false)
  call void @free(ptr %start)
  %result = call ptr %routine(ptr %argument)
  ret ptr %result
}

declare ptr @dlsym(ptr, ptr)
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @llvm.threadlocal.address.p0(ptr)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
